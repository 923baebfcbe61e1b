"""The paper's maths: arrays in, arrays out; numpy and scipy only."""
