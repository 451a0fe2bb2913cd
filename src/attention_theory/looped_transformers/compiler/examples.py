"""Functions that are compiled for a transformer, and run by Python as they are."""


def gcd(a: int, b: int) -> int:
    """The greatest common divisor, by Euclid's algorithm."""
    while b:
        a, b = b, a % b
    return a


def bubble_sort(xs: list[int]) -> list[int]:
    """A list in ascending order: neighbours change places until none has to."""
    for i in range(len(xs)):
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


def insertion_sort(xs: list[int]) -> list[int]:
    """A list in ascending order: every item moves down to its place."""
    for i in range(1, len(xs)):
        item = xs[i]
        j = i - 1
        while j >= 0 and xs[j] > item:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = item
    return xs


def primes(sieve: list[int]) -> int:
    """The number of primes below the length of a list, by the sieve of Eratosthenes; composites are marked."""
    count = 0
    for n in range(2, len(sieve)):
        if not sieve[n]:
            count += 1
            multiple = 2 * n
            while multiple < len(sieve):
                sieve[multiple] = 1
                multiple += n
    return count


def binary_search(xs: list[int], wanted: int) -> int:
    """The place of a number in an ascending list; -1 if it is not there."""
    low = 0
    high = len(xs) - 1
    while low <= high:
        middle = (low + high) // 2
        if xs[middle] == wanted:
            return middle
        if xs[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1


def matrix_product(a: list[int], b: list[int]) -> list[int]:
    """The product of two matrices of 2 by 2, row by row in lists of four."""
    c = [0] * 4
    for i in range(2):
        for j in range(2):
            for k in range(2):
                c[2 * i + j] += a[2 * i + k] * b[2 * k + j]
    return c


def collatz(n: int) -> int:
    """How many steps lead from n to 1: halve an even number, take three times an odd one and add 1."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def queens(columns: list[int]) -> list[int]:
    """Place one queen in every row so that none attacks another: the column of each. Boards of 2 and 3 have no way."""
    row = 0
    column = 0
    while row < len(columns):
        left = column
        right = column
        other = row - 1
        while other >= 0:
            left -= 1
            right += 1
            taken = columns[other]
            if column == taken or left == taken or right == taken:
                break
            other -= 1
        if other < 0:
            columns[row] = column
            row += 1
            column = 0
        else:
            column += 1
        while column == len(columns):
            row -= 1
            column = columns[row] + 1
    return columns


def life(cells: list[int]) -> list[int]:
    """One generation of Conway's Life on a board of 6 by 6 whose edges meet."""
    new = [0] * 36
    for y in range(6):
        for x in range(6):
            count = 0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    u = x + dx
                    v = y + dy
                    u = u - 6 if u > 5 else u
                    v = v - 6 if v > 5 else v
                    count += cells[6 * (v + 6 if v < 0 else v) + (u + 6 if u < 0 else u)]
            alive = cells[6 * y + x]
            new[6 * y + x] = count == 3 or (alive and count == 4)
    return new


def tape_machine(code: list[int], tape: list[int]) -> int:
    """Interpret a program of a language with eight letters, without input and output; the number of its steps.

    The letters are numbers: 1 and 2 move the head right and left, 3 and 4 add 1 to its cell and take it off, 5 and 6
    begin and end a loop that runs while the cell is not 0, and 0 ends the program.
    """
    place = 0
    head = 0
    steps = 0
    while code[place]:
        letter = code[place]
        if letter == 1:
            head += 1
        elif letter == 2:
            head -= 1
        elif letter == 3:
            tape[head] += 1
        elif letter == 4:
            tape[head] -= 1
        elif (letter == 5) == (tape[head] == 0):
            depth = 1
            step = 1 if letter == 5 else -1
            while depth:
                place += step
                if code[place] == letter:
                    depth += 1
                elif code[place] == 11 - letter:
                    depth -= 1
        place += 1
        steps += 1
    return steps
