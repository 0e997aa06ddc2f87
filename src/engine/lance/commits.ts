import { CatalogError } from '../../base/errors.ts'
import type { DatasetVersion, StagedVersion } from './bridge.ts'
import type { DatasetToOpen } from './datasets.ts'

/** Knows what a change of a dataset has recorded, also when the process of Lance ends in the middle of it. */
export class WatchedCommits<T extends DatasetToOpen> {
  /** The dataset, whose versions are watched. */
  readonly dataset: T
  #recorded: DatasetVersion | undefined
  #isOver = false
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(dataset: T) {
    const create = (staged: StagedVersion) => this.#create(dataset, staged)
    this.dataset = { ...dataset, versions: { ...dataset.versions, create } }
  }

  /**
   * Refuses what a process that has ended may still have asked for, and waits for what is under way. Resolves to the
   * version that was recorded.
   */
  async end(): Promise<number | undefined> {
    this.#isOver = true
    await Promise.allSettled(this.#underWay)
    return this.#recorded?.version
  }

  async #create({ versions }: T, staged: StagedVersion): Promise<DatasetVersion> {
    if (this.#isOver)
      throw new CatalogError('ConcurrentModification', 'The process that asks for it has ended.')
    const made = versions.create!(staged)
    this.#underWay.add(made)
    try {
      this.#recorded = await made
      return this.#recorded
    } finally {
      this.#underWay.delete(made)
    }
  }
}
