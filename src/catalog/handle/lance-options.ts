import { invalid } from '../../base/errors.ts'
import { type OptionNames, requireKnown } from '../../base/model/options.ts'

/** How the package of Lance runs. All but `isolate` is for a process of its own. Everything has a default. */
export interface LanceRunOptions {
  /** Whether it runs in a process of its own, which starts with the first request for rows of Lance. Default: false. */
  readonly isolate?: boolean | undefined
  /** Most bytes of memory of the process; it is ended when it takes more. Default: half of the machine's. */
  readonly memoryBytes?: number | undefined
  /** How long one call of Lance may take, in milliseconds. Then the process is ended. Default: an hour. */
  readonly callMillis?: number | undefined
  /** After how many milliseconds without a request the process ends; the next one starts another. Default: 5 minutes. */
  readonly idleMillis?: number | undefined
}

const names: OptionNames<LanceRunOptions> = {
  isolate: true,
  memoryBytes: true,
  callMillis: true,
  idleMillis: true,
}

/** What a timer can count, in milliseconds. */
const mostMillis = 2 ** 31 - 1
/** Lance's package alone takes some 100 MB. */
const leastMemory = 256 * 1024 * 1024

/** The options for a process of its own. Undefined where Lance runs in this one. */
export function isolationOptions(given: LanceRunOptions): Omit<LanceRunOptions, 'isolate'> | undefined {
  requireKnown('lance', given, names)
  const { isolate = false, ...limits } = given
  if (typeof isolate !== 'boolean') throw invalid(`lance: isolate is ${String(isolate)}. Give true or false.`)
  const { memoryBytes, callMillis, idleMillis } = limits
  requireNumber('memoryBytes', memoryBytes, leastMemory, Number.MAX_SAFE_INTEGER)
  requireNumber('callMillis', callMillis, 1, mostMillis)
  requireNumber('idleMillis', idleMillis, 1, mostMillis)
  if (isolate) return limits
  const unused = Object.entries(limits).find(([, value]) => value !== undefined)
  if (unused === undefined) return undefined
  throw invalid(`lance: ${unused[0]} is for a process of its own. Add isolate: true, or leave it out.`)
}

function requireNumber(name: string, value: unknown, least: number, most: number): void {
  if (value === undefined) return
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return
  throw invalid(
    `lance: ${name} must be a whole number from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}; it is ${String(value)}.`,
  )
}
