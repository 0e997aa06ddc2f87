/** For each byte, what it does to a checksum (CRC-32, as zlib's); then the same with one to three zeros behind it. */
const [none, one, two, three] = tables()

/** The checksum of the first bytes: zlib's, which a call takes longer to reach than a record takes to sum up. */
export function crcOf(bytes: Uint8Array, end: number): number {
  let sum = -1
  let at = 0
  // Four bytes at a time: four looks that need not wait for each other.
  for (; at + 4 <= end; at += 4) {
    sum ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    sum = three[sum & 255]! ^ two[(sum >>> 8) & 255]! ^ one[(sum >>> 16) & 255]! ^ none[sum >>> 24]!
  }
  for (; at < end; at++) sum = none[(sum ^ bytes[at]!) & 255]! ^ (sum >>> 8)
  return ~sum >>> 0
}

function tables(): readonly [Int32Array, Int32Array, Int32Array, Int32Array] {
  const first = new Int32Array(256).map((_, byte) => {
    let sum = byte
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
    return sum
  })
  const behind = (table: Int32Array) => table.map((sum) => first[sum & 255]! ^ (sum >>> 8))
  const second = behind(first)
  const third = behind(second)
  return [first, second, third, behind(third)]
}
