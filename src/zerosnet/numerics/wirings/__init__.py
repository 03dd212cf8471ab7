"""What N blocks make of a scheme: shares of the blocks, effective depth, gauge, and accuracy predicted from them."""
