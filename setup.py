"""Names the packages: the root of the repository is the package `ecsuite`, with its folders of modules."""

from setuptools import find_packages, setup

setup(packages=["ecsuite", *(f"ecsuite.{folder}" for folder in find_packages())])
