"""Test whether codes are learned better over generations, with the table that `ecsuite people export STUDY` writes.

python responses.py data/responses.csv
"""

import sys

import pandas
from scipy.stats import page_trend_test


def main(file: str) -> None:
    """Print the share of right answers by chain and generation, and Page's test of a rise over generations."""
    # Without these two options, the codes `nan` and `null` would be read as missing values.
    data = pandas.read_csv(file, keep_default_na=False, na_values=[""])
    test = data[(data.counted == 1) & (data.phase == "test")]
    shares = test.pivot_table(index="chain", columns="generation", values="correct").dropna()
    print(shares.round(2))
    found = page_trend_test(shares)
    print(f"Page's L = {found.statistic:g}, p = {found.pvalue:.2g}")


if __name__ == "__main__":
    main(sys.argv[1])
