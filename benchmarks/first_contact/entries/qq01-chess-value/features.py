"""HalfKP features: (own king square, piece, square) seen from both sides."""

PIECES = "PNBRQpnbrq"
NUM_PLANES = 10 * 64
NUM_FEATURES = 64 * NUM_PLANES

WHITE_VIEW = {p: i for i, p in enumerate("PNBRQpnbrq")}
BLACK_VIEW = {p: i for i, p in enumerate("pnbrqPNBRQ")}


def parse_board(placement):
    """Piece placement field of a FEN -> list of (square, piece), a1 = 0."""
    board = []
    rank, file = 7, 0
    for ch in placement:
        if ch == "/":
            rank -= 1
            file = 0
        elif ch.isdigit():
            file += int(ch)
        else:
            board.append((rank * 8 + file, ch))
            file += 1
    return board


def halfkp(fen):
    """Indices of the active features for white, for black, and the side to move."""
    placement, turn = fen.split(" ")[:2]
    board = parse_board(placement)
    white_king = next(sq for sq, p in board if p == "K")
    black_king = next(sq for sq, p in board if p == "k") ^ 56
    white, black = [], []
    for square, piece in board:
        if piece in "Kk":
            continue
        white.append(white_king * NUM_PLANES + WHITE_VIEW[piece] * 64 + square)
        black.append(black_king * NUM_PLANES + BLACK_VIEW[piece] * 64 + (square ^ 56))
    return white, black, 1.0 if turn == "w" else 0.0
