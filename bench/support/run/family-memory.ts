import { readdirSync, readFileSync } from 'node:fs'

/** How often the memory is looked at, in milliseconds: seldom enough to take nothing from what is measured. */
const every = 1_000
const pageBytes = 4_096

/** The most memory that a process and all that it started have had together. */
export interface FamilyMemory {
  /** In bytes; undefined where the system does not tell. */
  stop(): number | undefined
}

/** Looks from time to time. What lives shorter than that may be missed, and shared pages count for each process. */
export function watchFamily(pid: number): FamilyMemory {
  let most: number | undefined
  const look = () => {
    const now = memoryOf(pid)
    if (now !== undefined) most = Math.max(most ?? 0, now)
  }
  const timer = setInterval(look, every)
  return {
    stop() {
      clearInterval(timer)
      return most
    },
  }
}

function memoryOf(root: number): number | undefined {
  const children = childrenOf()
  if (children === undefined) return undefined
  let bytes = 0
  const left = [root]
  for (let pid = left.pop(); pid !== undefined; pid = left.pop()) {
    bytes += residentBytes(pid)
    left.push(...(children.get(pid) ?? []))
  }
  return bytes
}

/** Who started whom, of all processes. */
function childrenOf(): Map<number, number[]> | undefined {
  const children = new Map<number, number[]>()
  try {
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue
      const parent = parentOf(name)
      if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    }
    return children
  } catch {
    return undefined
  }
}

function parentOf(pid: string): number | undefined {
  try {
    // The name of a program is in brackets, and may have any characters.
    const after = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!
    return Number(after.split(' ')[1])
  } catch {
    // It has ended meanwhile.
    return undefined
  }
}

function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * pageBytes
  } catch {
    return 0
  }
}
