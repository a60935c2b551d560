"""What-ifs as an answer: which of some changes pays most, by how much, and how sure that is."""
