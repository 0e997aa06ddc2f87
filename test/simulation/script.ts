import { Draw } from '../support/draw.ts'

/** The kinds of steps of a client. */
export type StepKind =
  | 'insert'
  | 'update'
  | 'remove'
  | 'pair'
  | 'session'
  | 'read'
  | 'read both'
  | 'optimize'
  | 'vacuum'
  | 'tag'
  | 'create'
  | 'drop'
  | 'rename'
  | 'deregister'
  | 'register'
  | 'take'
  | 'look'
  | 'cancel'
  | 'batch'
  | 'watch'

export interface Step {
  readonly kind: StepKind
  /** The delay before the step. */
  readonly delay: number
  /** A random number from 0 to 1 for the choices of the step. */
  readonly choice: number
}

/** A client of a server, which continues there after a restart of the server. */
export interface ClientScript {
  readonly server: number
  readonly steps: readonly Step[]
}

export type FaultKind =
  | 'pause'
  | 'stall'
  | 'kill'
  | 'crash'
  | 'clock step'
  | 'clock jump'
  | 'degraded network'
  | 'network outage'
  | 'pause service'

export interface Fault {
  readonly kind: FaultKind
  readonly at: number
  readonly millis: number
  /** The index of the server or machine, modulo their number. */
  readonly whom: number
}

/** All decisions of a run before it begins. */
export interface Script {
  readonly seed: number
  /** The storage of records and rows. */
  readonly place: 'database' | 'directory'
  readonly servers: number
  /** How many records of transactions are kept. */
  readonly transactionCount: number
  readonly clients: readonly ClientScript[]
  readonly faults: readonly Fault[]
}

const weights: Readonly<Record<StepKind, number>> = {
  insert: 10,
  update: 4,
  remove: 3,
  pair: 5,
  session: 8,
  read: 4,
  'read both': 4,
  optimize: 1,
  vacuum: 5,
  tag: 1,
  create: 5,
  drop: 2,
  rename: 2,
  deregister: 4,
  register: 3,
  take: 3,
  look: 8,
  cancel: 1,
  batch: 2,
  watch: 2,
}

/** All kinds of steps. */
export const stepKinds = Object.keys(weights) as readonly StepKind[]

/** All kinds of faults. */
export const faultKinds = [
  'pause',
  'stall',
  'kill',
  'crash',
  'clock step',
  'clock jump',
  'degraded network',
  'network outage',
  'pause service',
] as const satisfies readonly FaultKind[]

/**
 * Random weights of kinds. A run has some kinds of steps and faults much more often than others, and some not at all,
 * so that few kinds meet in many combinations. Source: Groce et al., Swarm testing, 2012.
 */
function kindsOf(draw: Draw): StepKind[] {
  const kinds = Object.entries(weights).flatMap(([kind, weight]) => {
    const times = weight * draw.oneOf([0, 1, 1, 5])
    return Array.from({ length: times }, () => kind as StepKind)
  })
  return kinds.length > 0 ? kinds : ['insert']
}

const hour = 3_600_000

/** The script of a seed. */
export function scriptOf(seed: number): Script {
  const draw = new Draw(seed)
  // Short delays cause many conflicts. Delays of minutes let leases expire.
  const longest = draw.oneOf([5, 200, 20_000, 60_000])
  const servers = draw.oneOf([1, 2, 2, 3])
  const kinds = kindsOf(draw)
  const someFaults = faultKinds.filter(() => draw.chance(0.4))
  const step = (): Step => ({ kind: draw.oneOf(kinds), delay: draw.next() * longest, choice: draw.next() })
  const clients = Array.from({ length: 2 + draw.below(4) }, () => ({
    server: draw.below(servers),
    steps: Array.from({ length: 3 + draw.below(8) }, step),
  }))
  const faultCount = someFaults.length === 0 ? 0 : draw.oneOf([0, 1, 3, 6, 10])
  const span = Math.max(400, longest * 8)
  const faults = Array.from({ length: faultCount }, (): Fault => {
    const kind = draw.oneOf(someFaults)
    return { kind, at: draw.next() * span, millis: millisOf(kind, draw), whom: draw.below(6) }
  })
  return {
    seed,
    place: draw.oneOf(['database', 'directory']),
    servers,
    transactionCount: draw.oneOf([10, 1_000]),
    clients,
    faults,
  }
}

function millisOf(kind: FaultKind, draw: Draw): number {
  if (kind === 'clock step') return (draw.next() - 0.5) * 2 * draw.oneOf([1_000, 90_000, 3 * hour])
  if (kind === 'clock jump') return draw.next() * 3_000
  if (kind === 'kill' || kind === 'crash') return draw.next() * 5_000
  return draw.next() * draw.oneOf(kind === 'stall' ? [5_000, 200_000] : [100, 5_000, 120_000])
}
