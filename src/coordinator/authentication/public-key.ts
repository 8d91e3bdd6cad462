/** The field of Ed25519, and its curve: -x² + y² = 1 + d·x²·y². */
const FIELD = 2n ** 255n - 19n;
const CURVE_D = modField(-121665n * powField(121666n, FIELD - 2n));
/** The y coordinates of the points of order 1, 2, 4 and 8. For a key with one of them, anyone can forge signatures. */
const WEAK_Y_VALUES = new Set([
  0n,
  1n,
  FIELD - 1n,
  littleEndian(Buffer.from('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', 'hex')),
  littleEndian(Buffer.from('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', 'hex')),
]);

/** Whether the text is a canonically encoded Ed25519 public key of 32 bytes, and not a weak one. */
export function isPublicKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== 32 || bytes.toString('base64url') !== text) return false;
  bytes[31] = (bytes[31] as number) & 0x7f;
  const y = littleEndian(bytes);
  return y < FIELD && !WEAK_Y_VALUES.has(y) && isOnCurve(y);
}

/**
 * Whether the curve has a point with this y. It has one if (y² - 1) / (d·y² + 1) is a square, and the quotient is a square
 * exactly if the product of both terms is a square.
 */
function isOnCurve(y: bigint): boolean {
  const square = modField(y * y);
  return powField(modField((square - 1n) * (CURVE_D * square + 1n)), (FIELD - 1n) / 2n) === 1n;
}

function modField(value: bigint): bigint {
  const remainder = value % FIELD;
  return remainder < 0n ? remainder + FIELD : remainder;
}

function powField(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let factor = base, remaining = exponent; remaining > 0n; remaining >>= 1n) {
    if ((remaining & 1n) === 1n) result = modField(result * factor);
    factor = modField(factor * factor);
  }
  return result;
}

function littleEndian(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}
