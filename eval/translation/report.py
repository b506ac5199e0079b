"""The result of a translation experiment as text."""

from ecsuite.eval.translation.result import TranslationResult


def summary(result: TranslationResult) -> str:
    """The result as text of a few lines."""
    study, tuned = result.study, result.tuned
    pretraining = f"corpus repeated {result.repeats:.3g} times" if result.repeats else "without pretraining"
    lines = [
        f"{study.name}: translation, preset {study.preset.name}, setting {study.setting}, seed {study.seed}; "
        f"{pretraining}",
        f"  {tuned['num_parameters']:,} parameters, {tuned['num_trainable']:,} of them fine-tuned on "
        f"{tuned['num_train']:,} pairs, {tuned['passes']:.3g} passes; {result.num_left_out:,} pairs left out",
        f"  chrF {result.chrf:.2f}  BLEU {result.bleu:.2f}  (means of {len(result.beams)} beam widths, "
        f"{study.num_tested:,} sentences)",
    ]
    for beam, score in result.beams.items():
        lines.append(
            f"    beam {beam}  chrF {score.chrf:5.2f}  BLEU {score.bleu:5.2f}  length ratio "
            f"{score.length_ratio:.2f}  {score.ended:.0%} ended with EOS"
        )
    lines += [
        f"  cross-entropy {tuned['cross_entropy']:.3f} nats per token of the validation targets",
        f"  note: {result.note}",
        f"  {study.signature}",
    ]
    return "\n".join(lines)
