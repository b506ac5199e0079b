# Mixed models of what people learned, from the table that `ecsuite people export STUDY --out data` writes.
#     Rscript responses.R data/responses.csv
library(lme4)

file <- commandArgs(trailingOnly = TRUE)[1]
data <- read.csv(file, na.strings = "", stringsAsFactors = TRUE)
test <- subset(data, counted == 1 & phase == "test")

# Are codes learned better from one generation to the next? Chains and objects differ at random.
print(summary(glmer(correct ~ generation + (1 | chain) + (1 | item), data = test, family = binomial)))
# Are they typed faster?
timed <- subset(test, !is.na(rt))
print(summary(lmer(log(rt) ~ generation + (1 | chain) + (1 | participant), data = timed)))
