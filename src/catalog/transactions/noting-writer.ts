import type { Identifier } from '../../base/model/identifier.ts'
import type { SubjectChange, VersionSpan } from '../../base/model/subject-change.ts'
import {
  type BranchRecord,
  droppedId,
  isTableName,
  kinds,
  type StagedChangeRecord,
  type StoredTable,
  type TablePointer,
  type TagRecord,
} from '../../base/store/records.ts'
import type { Entry, Key, Range, Value, Writer } from '../../base/store/store.ts'

/** What a change did to one namespace or table, according to the records that it wrote. */
interface Noted {
  kind: SubjectChange['kind']
  /** The identifier before, and after a rename, if the change noted them. */
  id: Identifier | undefined
  to: Identifier | undefined
  /** Whether its pointer was written, and whether it was removed. */
  isPlaced: boolean
  isRemoved: boolean
  made: (readonly [branch: string, version: number])[] | undefined
  removed: (readonly [branch: string, version: number])[] | undefined
  tags: Map<string, TagRecord | undefined> | undefined
  branches: Map<string, BranchRecord | undefined> | undefined
}

/**
 * Writes for a change, and notes which records of namespaces and tables it wrote. So the feed follows from what was
 * written, and no operation can forget its entry.
 */
export class NotingWriter implements Writer {
  /** What operations inside of a transaction changed, when this is the commit of one. */
  readonly inner: StagedChangeRecord[] = []
  /** The internal id of the subject that was noted last. */
  subjectId: string | undefined
  /** Those of all subjects, when there are several. May hold duplicates. */
  subjectIds: string[] | undefined
  readonly #writer: Writer
  readonly #noted = new Map<string, Noted>()
  /** What was noted last: most changes write several records of one subject. */
  #last: Noted | undefined
  #lastId: unknown
  #subject: Identifier | undefined
  #keptSubject: Identifier = []

  constructor(writer: Writer) {
    this.#writer = writer
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    return this.#writer.get<V>(key)
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    return this.#writer.range<V>(range)
  }

  put(key: Key, value: Value): void {
    switch (key[0]) {
      case kinds.name:
        if (isTableName(key)) this.#of((value as StoredTable).id)
        // A namespace whose properties change keeps its name.
        else this.#namespace(value).isPlaced = true
        break
      case kinds.tablePointer:
        // To those who follow the feed, a table that is held is gone, and one that was held is new.
        if ((value as TablePointer)[0] === droppedId) this.#of(key[1]).isRemoved = true
        else this.#of(key[1]).isPlaced = true
        break
      case kinds.namespace:
        this.#namespace(key[1])
        break
      case kinds.version:
        append(this.#of(key[1]), 'made', key)
        break
      case kinds.tag:
        tagsOf(this.#of(key[1])).set(String(key[2]), value as TagRecord)
        break
      case kinds.branch:
        branchesOf(this.#of(key[1])).set(String(key[2]), value as BranchRecord)
        break
      case kinds.stagedChange:
        this.inner.push(value as StagedChangeRecord)
        return
    }
    this.#writer.put(key, value)
  }

  remove(key: Key): void {
    switch (key[0]) {
      case kinds.tablePointer:
        this.#of(key[1]).isRemoved = true
        break
      case kinds.namespace:
        this.#namespace(key[1]).isRemoved = true
        break
      case kinds.version:
        append(this.#of(key[1]), 'removed', key)
        break
      case kinds.tag:
        tagsOf(this.#of(key[1])).set(String(key[2]), undefined)
        break
      case kinds.branch:
        branchesOf(this.#of(key[1])).set(String(key[2]), undefined)
        break
    }
    this.#writer.remove(key)
  }

  /**
   * Notes the internal id of the changed table or namespace, for the transaction record. A batch notes several. The feed
   * shows `id`, by default the identifier of the operation. `to` is the identifier after a rename.
   */
  noteSubject(internalId: string, id?: Identifier, to?: Identifier): void {
    if (id !== undefined) {
      const noted = this.#of(internalId)
      noted.id = id
      if (to !== undefined) noted.to = to
    }
    if (internalId === this.subjectId) return
    if (this.subjectIds !== undefined) this.subjectIds.push(internalId)
    else if (this.subjectId !== undefined) this.subjectIds = [this.subjectId, internalId]
    this.subjectId = internalId
  }

  /** What the operation changed. The last subject has the identifier of the operation, unless it noted another one. */
  changes(operation: string, subject: Identifier, subjectId: string | undefined): SubjectChange[] {
    const changes: SubjectChange[] = []
    let replaces = false
    for (const [internalId, noted] of this.#noted) {
      const id = noted.id ?? (internalId === subjectId ? subject : undefined)
      // It was removed with its namespace, or with the earlier owner of its name.
      if (id === undefined) replaces ||= noted.isRemoved
      else changes.push(changeOf(operation, this.kept(id), noted))
    }
    if (!replaces) return changes
    return changes.map((one) => (one.effect === 'created' ? { ...one, effect: 'replaced' } : one))
  }

  /** A frozen copy of an identifier. The transaction record and the feed entry share the copy of their subject. */
  kept(id: Identifier): Identifier {
    if (id === this.#subject) return this.#keptSubject
    if (Object.isFrozen(id)) return id
    this.#subject = id
    this.#keptSubject = Object.freeze([...id])
    return this.#keptSubject
  }

  #namespace(internalId: unknown): Noted {
    const noted = this.#of(internalId)
    noted.kind = 'namespace'
    return noted
  }

  #of(internalId: unknown): Noted {
    if (internalId === this.#lastId && this.#last !== undefined) return this.#last
    const id = String(internalId)
    let noted = this.#noted.get(id)
    if (noted === undefined) {
      noted = {
        kind: 'table',
        id: undefined,
        to: undefined,
        isPlaced: false,
        isRemoved: false,
        made: undefined,
        removed: undefined,
        tags: undefined,
        branches: undefined,
      }
      this.#noted.set(id, noted)
    }
    this.#lastId = internalId
    this.#last = noted
    return noted
  }
}

function append(noted: Noted, list: 'made' | 'removed', [, , branch, version]: Key): void {
  // The removal of a table implies that of its versions.
  if (noted.isRemoved && !noted.isPlaced) return
  const versions = noted[list] ?? []
  noted[list] = versions
  versions.push([String(branch), Number(version)])
}

function tagsOf(noted: Noted): Map<string, TagRecord | undefined> {
  noted.tags ??= new Map()
  return noted.tags
}

function branchesOf(noted: Noted): Map<string, BranchRecord | undefined> {
  noted.branches ??= new Map()
  return noted.branches
}

function changeOf(operation: string, id: Identifier, noted: Noted): SubjectChange {
  const effect = effectOf(noted)
  const change: Writable = { operation, kind: noted.kind, id, effect }
  if (effect === 'moved' && noted.to !== undefined) change.to = Object.freeze([...noted.to])
  if (effect === 'removed') return Object.freeze(change)
  const { made, removed, tags, branches } = noted
  if (made) change.versions = spansOf(made)
  if (removed) {
    // The removal of a branch implies that of its versions.
    const spans = spansOf(removed.filter(([branch]) => !isGone(branches, branch)))
    if (spans.length > 0) change.removed_versions = spans
  }
  if (tags) addTags(change, tags)
  if (branches) addBranches(change, branches)
  // Frozen, so that a store that keeps objects need not copy it.
  return Object.freeze(change)
}

function effectOf({ isPlaced, isRemoved }: Noted): SubjectChange['effect'] {
  if (isPlaced) return isRemoved ? 'moved' : 'created'
  return isRemoved ? 'removed' : 'changed'
}

function isGone(branches: Noted['branches'], branch: string): boolean {
  return branches?.has(branch) === true && branches.get(branch) === undefined
}

type Writable = { -readonly [Name in keyof SubjectChange]: SubjectChange[Name] }

function addTags(change: Writable, tags: ReadonlyMap<string, TagRecord | undefined>): void {
  const set = []
  const removed = []
  for (const [name, tag] of tags) {
    if (tag === undefined) removed.push(name)
    else set.push({ name, ...(tag.branch !== '' && { branch: tag.branch }), version: tag.version })
  }
  if (set.length > 0) change.tags = set
  if (removed.length > 0) change.removed_tags = removed
}

function addBranches(change: Writable, branches: ReadonlyMap<string, BranchRecord | undefined>): void {
  const isNew = change.effect === 'created'
  const made = []
  const removed = []
  for (const [name, branch] of branches) {
    if (branch === undefined) removed.push(name)
    // All branches of a new table are new. In an existing table, a branch with versions of its own is not.
    else if (isNew || branch.head.latest === null || branch.head.latest === branch.parent_version)
      made.push(name)
  }
  if (made.length > 0) change.branches = made
  if (removed.length > 0) change.removed_branches = removed
}

/** Versions as spans: a table that is registered again may have thousands. */
function spansOf(versions: readonly (readonly [branch: string, version: number])[]): VersionSpan[] {
  const first = versions[0]
  if (versions.length === 1 && first !== undefined) return [spanOf(first[0], first[1], first[1])]
  const sorted = [...versions].sort(([a, m], [b, n]) => (a < b ? -1 : a > b ? 1 : m - n))
  const spans: VersionSpan[] = []
  for (let i = 0; i < sorted.length; ) {
    const [branch, from] = sorted[i]!
    let last = from
    for (i++; i < sorted.length && sorted[i]![0] === branch && sorted[i]![1] <= last + 1; i++)
      last = sorted[i]![1]
    spans.push(spanOf(branch, from, last))
  }
  return spans
}

function spanOf(branch: string, first: number, last: number): VersionSpan {
  return Object.freeze(branch === '' ? { first, last } : { branch, first, last })
}
