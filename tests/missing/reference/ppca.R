# PCA of a table with holes by pcaMethods and, where it is there, missMDA.
#
#   Rscript ppca.R TABLE.csv COMPONENTS CENTER SCALE FOLDER
#
# TABLE.csv   numbers with a header; a hole is an empty cell
# CENTER      TRUE, or FALSE: the columns' means are known to be 0
# SCALE       none, or uv: divide by the standard deviation of the observed cells
# FOLDER      gets ppca.csv (center and scale, the W and sigma^2 of ppca, of each column), filled.csv (what each
#             program puts in each hole) and versions.txt
#
# All programs get the same rows, about the mean of the observed cells and divided by SCALE. pcaMethods keeps that mean
# for good; missMDA goes on to find its own.
suppressPackageStartupMessages(library(pcaMethods))

arguments <- commandArgs(trailingOnly = TRUE)
X <- as.matrix(read.csv(arguments[1]))
k <- as.integer(arguments[2])
folder <- arguments[5]
prepared <- prep(X, scale = arguments[4], center = as.logical(arguments[3]), simple = FALSE)
Y <- prepared$data
holes <- which(is.na(Y), arr.ind = TRUE)
often <- 20000

# ppca returns neither the lengths of W nor sigma^2: the same function, ended where it is about to drop both.
ended <- function(method) {
  steps <- as.list(body(method))
  at <- which(vapply(steps, identical, TRUE, quote(C <- orth(C))))
  stopifnot(length(at) == 1)
  body(method) <- as.call(append(steps, quote(return(list(W = C, noise = ss))), at - 1))
  method
}

# Its sigma^2 has the sum of all elements of CtC %*% Sx where the trace is meant, which is the sum of CtC * Sx.
mended <- function(method) {
  of <- function(e) {
    if (identical(e, quote(CtC %*% Sx))) return(quote(CtC * Sx))
    if (is.call(e)) as.call(lapply(e, of)) else e
  }
  as_it_was <- body(method)
  body(method) <- of(as_it_was)
  stopifnot(!identical(body(method), as_it_was))
  method
}

settings <- list(seed = 1, threshold = 1e-15, maxIterations = often)
fitted_by <- function(method) do.call(ended(method), c(list(Y, nPcs = k), settings))
parameters <- function(model, prefix) {
  W <- model$W
  colnames(W) <- paste0(prefix, "W", seq_len(k))
  of_columns <- data.frame(model$noise, W)
  names(of_columns)[1] <- paste0(prefix, "noise")
  of_columns
}

# The value of each hole, in the units of the table.
in_holes <- function(rows) prep(rows, prepared$scale, prepared$center, reverse = TRUE)[holes]
by_pca <- function(method, ...) in_holes(completeObs(pca(Y, method, nPcs = k, center = FALSE, ...)))
by_missmda <- function(method) {
  if (!requireNamespace("missMDA", quietly = TRUE)) return(rep(NA, nrow(holes)))
  in_holes(missMDA::imputePCA(Y, k, scale = FALSE, method = method, threshold = 1e-14, maxiter = often)$completeObs)
}

columns <- colnames(X)
of_columns <- data.frame(
  column = columns, center = prepared$center, scale = prepared$scale,
  parameters(fitted_by(ppca), ""), parameters(fitted_by(mended(ppca)), "mended_")
)
filled <- data.frame(row = holes[, 1], column = columns[holes[, 2]])
if (nrow(holes)) {
  filled$ppca <- do.call(by_pca, c("ppca", settings))
  filled$svd <- by_pca("svdImpute", threshold = 1e-14, maxSteps = often, verbose = FALSE)
  filled$missmda_em <- by_missmda("EM")
  filled$missmda_regularized <- by_missmda("Regularized")
}

write_numbers <- function(table, name) {
  numbers <- vapply(table, is.double, TRUE)
  table[numbers] <- lapply(table[numbers], function(x) ifelse(is.na(x), "", sprintf("%.11g", x)))
  write.csv(table, file.path(folder, name), row.names = FALSE, quote = FALSE)
}
write_numbers(of_columns, "ppca.csv")
write_numbers(filled, "filled.csv")
packages <- Filter(function(name) requireNamespace(name, quietly = TRUE), c("pcaMethods", "missMDA", "FactoMineR"))
versions <- vapply(packages, function(name) as.character(packageVersion(name)), "")
writeLines(c(R.version.string, paste(packages, versions)), file.path(folder, "versions.txt"))
