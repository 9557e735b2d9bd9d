# Fit with data.table and prcomp: DATA.csv MODEL.rds.
arguments <- commandArgs(trailingOnly = TRUE)
X <- as.matrix(data.table::fread(arguments[1]))
pca <- prcomp(X, rank. = 10, retx = FALSE)
variances <- pca$sdev[1:10]^2
saveRDS(list(components = pca$rotation, mean = pca$center, variances = variances), arguments[2])
cat(sprintf("%.17g", variances), "\n")
