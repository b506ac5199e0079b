"""The result of a translation experiment as text."""

from ecsuite.eval.translation.result import TranslationResult


def summary(result: TranslationResult) -> str:
    """The result as text of a few lines."""
    pretraining = f"corpus repeated {result.repeats:.3g} times" if result.repeats else "without pretraining"
    lines = [
        f"{result.name}: translation, preset {result.preset}, setting {result.setting}, seed {result.seed}; "
        f"{pretraining}",
        f"  {result.num_parameters:,} parameters, {result.num_trainable:,} of them fine-tuned on "
        f"{result.num_train:,} pairs, {result.passes:.3g} passes; {result.num_left_out:,} pairs left out",
        f"  chrF {result.chrf:.2f}  BLEU {result.bleu:.2f}  (means of {len(result.beams)} beam widths, "
        f"{result.num_test:,} sentences)",
    ]
    for beam, score in result.beams.items():
        lines.append(
            f"    beam {beam}  chrF {score.chrf:5.2f}  BLEU {score.bleu:5.2f}  length ratio "
            f"{score.length_ratio:.2f}  {score.ended:.0%} ended with EOS"
        )
    lines += [
        f"  cross-entropy {result.cross_entropy:.3f} nats per token of the validation targets",
        f"  note: {result.note}",
        f"  {result.signature}",
    ]
    return "\n".join(lines)
