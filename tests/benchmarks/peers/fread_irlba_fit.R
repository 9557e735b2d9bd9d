# Fit with data.table and irlba: DATA.csv MODEL.rds.
arguments <- commandArgs(trailingOnly = TRUE)
X <- as.matrix(data.table::fread(arguments[1]))
pca <- irlba::prcomp_irlba(X, n = 10, retx = FALSE)
variances <- pca$sdev^2
saveRDS(list(components = pca$rotation, mean = pca$center, variances = variances), arguments[2])
cat(sprintf("%.17g", variances), "\n")
