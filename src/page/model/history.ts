/** A version in the response of `listTableVersions`. */
export interface Version {
  readonly version: number
  readonly timestamp_millis?: number
  readonly manifest_size?: number
  /** The transaction that made it, if it is still recorded. */
  readonly transaction_id?: string
  readonly operation?: string
}

/** A branch in the response of `listTableBranches`. The main branch has an empty name and no parent. */
export interface Branch {
  readonly name: string
  readonly parentBranch?: string
  readonly parentVersion?: number
}

/** A branch with its versions as far as they are fetched, latest first. */
export interface BranchVersions extends Branch {
  readonly versions: readonly Version[]
  readonly ended: boolean
}

/** A version in the graph. Lanes are counted from the left; the main branch has the first one, 0. */
export interface HistoryRow {
  readonly branch: string
  readonly version: Version
  /** The version before it on its branch, if there is one. */
  readonly before: number | undefined
  readonly lane: number
  /** The lanes that lead to the row above, and to the one below. */
  readonly above: readonly number[]
  readonly below: readonly number[]
  /** The lanes of branches that begin at this version. */
  readonly forks: readonly number[]
  /** The branches whose latest version this is. */
  readonly heads: readonly string[]
}

interface Source {
  readonly branch: BranchVersions
  readonly depth: number
  /** How many versions were taken. */
  taken: number
}

/**
 * The versions of all branches, latest first, as the rows of a graph. They end where a branch has versions that are not
 * fetched: `wants` names it.
 */
export function historyOf(branches: readonly BranchVersions[]): {
  readonly rows: readonly HistoryRow[]
  readonly wants: string | undefined
} {
  const sources = branches.map(
    (branch): Source => ({
      branch: {
        ...branch,
        parentBranch: '',
        ...originOf(branch.parentBranch, branch.parentVersion, branches),
      },
      depth: depthOf(branch, branches),
      taken: 0,
    }),
  )
  const lanes = new Lanes()
  const rows: HistoryRow[] = []
  for (;;) {
    const wanting = sources.find(({ branch, taken }) => !branch.ended && taken + 1 >= branch.versions.length)
    if (wanting) return { rows, wants: wanting.branch.name }
    const source = latestOf(sources)
    if (source === undefined) return { rows, wants: undefined }
    rows.push(takeRow(source, sources, lanes))
  }
}

/**
 * The branch that a version was made on. A branch has the version that it began with, and those before, from its parent:
 * what begins there begins at the parent.
 */
export function originOf(
  name: string | undefined,
  version: number | undefined,
  branches: readonly Branch[],
): { readonly parentBranch?: string; readonly parentVersion?: number } {
  let branch = name ?? ''
  for (let steps = 0; branch !== '' && version !== undefined && steps <= branches.length; steps++) {
    const parent = branches.find((each) => each.name === branch)
    if (parent?.parentVersion === undefined || version > parent.parentVersion) break
    branch = parent.parentBranch ?? ''
  }
  return {
    ...(branch !== '' && { parentBranch: branch }),
    ...(version !== undefined && { parentVersion: version }),
  }
}

/** How many branches lie between a branch and the main one. */
function depthOf({ name, parentBranch }: Branch, branches: readonly Branch[]): number {
  if (name === '') return 0
  let depth = 1
  for (let parent = parentBranch; parent && depth <= branches.length; depth++)
    parent = branches.find((branch) => branch.name === parent)?.parentBranch
  return depth
}

/** A branch lists the version that it began with, which is one of its parent. */
function isOwn({ name, parentVersion }: Branch, { version }: Version): boolean {
  return name === '' || parentVersion === undefined || version > parentVersion
}

function nextOf({ branch, taken }: Source): Version | undefined {
  const next = branch.versions[taken]
  return next && isOwn(branch, next) ? next : undefined
}

/** The source of the latest version. Of several at one time, those of branches come before that of their parent. */
function latestOf(sources: readonly Source[]): Source | undefined {
  let found: Source | undefined
  for (const source of sources) {
    const next = nextOf(source)
    if (next === undefined) continue
    const time = (version: Version) => version.timestamp_millis ?? 0
    const order = found === undefined ? 1 : time(next) - time(nextOf(found)!) || source.depth - found.depth
    if (order > 0) found = source
  }
  return found
}

function takeRow(source: Source, sources: readonly Source[], lanes: Lanes): HistoryRow {
  const { branch } = source
  const version = nextOf(source)!
  const before = branch.versions[source.taken + 1]?.version
  const above = lanes.shown()
  const lane = lanes.of(branch.name)
  const children = sources.filter(
    (child) =>
      child.branch.name !== '' &&
      (child.branch.parentBranch ?? '') === branch.name &&
      child.branch.parentVersion === version.version,
  )
  const heads = children.filter((child) => child.taken === 0).map((child) => child.branch.name)
  if (source.taken === 0) heads.unshift(branch.name)
  const forks = children.filter((child) => child.taken > 0).map((child) => lanes.release(child.branch.name))
  source.taken++
  // Nothing leads on from the first version of a table, nor from what began with a version that is deleted.
  if (nextOf(source) === undefined && (branch.name === '' || !hasParent(source, sources)))
    lanes.release(branch.name)
  return { branch: branch.name, version, before, lane, above, below: lanes.shown(), forks, heads }
}

/** Whether the version that a branch began with may still follow. */
function hasParent({ branch }: Source, sources: readonly Source[]): boolean {
  const parent = sources.find((source) => source.branch.name === (branch.parentBranch ?? ''))
  if (parent === undefined) return false
  const rest = parent.branch.versions.slice(parent.taken)
  return !parent.branch.ended || rest.some(({ version }) => version === branch.parentVersion)
}

/** Which branches have a lane at the moment. */
class Lanes {
  readonly #names: (string | undefined)[] = ['']
  #isMainShown = false

  of(name: string): number {
    if (name === '') {
      this.#isMainShown = true
      return 0
    }
    const known = this.#names.indexOf(name)
    if (known >= 0) return known
    const free = this.#names.indexOf(undefined)
    const lane = free >= 0 ? free : this.#names.length
    this.#names[lane] = name
    return lane
  }

  release(name: string): number {
    const lane = this.#names.indexOf(name)
    if (name === '') this.#isMainShown = false
    else this.#names[lane] = undefined
    return lane
  }

  shown(): number[] {
    return this.#names.flatMap((name, lane) => {
      const isShown = name === '' ? this.#isMainShown : name !== undefined
      return isShown ? [lane] : []
    })
  }
}

/** The branches to draw: the first ones by name, and that which is shown with those it comes from. */
export function drawnBranches(
  branches: readonly Branch[],
  shown: string | undefined,
  most: number,
): readonly Branch[] {
  const wanted = new Set<string>()
  for (let name = shown; name && !wanted.has(name) && wanted.size < most; ) {
    wanted.add(name)
    name = branches.find((branch) => branch.name === name)?.parentBranch
  }
  for (const { name } of branches) {
    if (wanted.size >= most) break
    wanted.add(name)
  }
  return [{ name: '' }, ...branches.filter(({ name }) => wanted.has(name))]
}
