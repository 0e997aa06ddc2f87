/**
 * Makes an answer the caller's own to change. The object itself was made for this answer. Its members may be shared
 * with the records of a store in memory, or with later answers, and are copied. Bytes and tables of Arrow are made for
 * each answer.
 */
export function ownAnswer(answer: unknown): unknown {
  if (isRecord(answer)) {
    for (const name in answer) {
      const member = answer[name]
      if (!isPlain(member)) answer[name] = ownCopy(member)
    }
  }
  return answer
}

/** A copy of a value, in all its parts. */
export function ownCopy(value: unknown): unknown {
  if (Array.isArray(value)) return isPlain(value[0]) ? value.slice() : value.map(ownCopy)
  return isRecord(value) ? ownAnswer({ ...value }) : value
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (isPlain(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Lists hold values of one kind each. */
function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}
