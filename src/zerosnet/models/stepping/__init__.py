"""The multistep stack: blocks, coefficients and the sums that connect them."""
