import type { Identifier } from '../../../base/model/identifier.ts'
import type { TableFormat } from '../../formats/table-format.ts'

/** One finding of a verification. */
export interface Finding {
  /** With a `problem`, data is lost or cannot be read. A `harmless` finding goes away by itself or by a vacuum. */
  readonly severity: 'problem' | 'harmless'
  /**
   * `store`: the file of the records is damaged. `record`: a record is malformed, or does not fit the others.
   * `content`: an object of a table is missing, cut off or damaged. `leftover`: an object or record is no longer needed.
   */
  readonly kind: 'store' | 'record' | 'content' | 'leftover'
  /** The file, the key of the record, or the path of the object. */
  readonly where: string
  /** The table or namespace of the finding, if it is known. */
  readonly id?: Identifier
  /** What is wrong, and what to do about it. */
  readonly message: string
}

export interface VerifyReport {
  /** Whether no problem was found. */
  readonly ok: boolean
  /** Whether everything was verified. With a damaged store, only the store is. */
  readonly complete: boolean
  readonly problems: number
  readonly harmless: number
  /** The first 1,000 findings. */
  readonly findings: readonly Finding[]
  readonly records: number
  readonly tables: number
  readonly versions: number
  /** The number of objects of tables, and how many of their bytes were read. */
  readonly objects: number
  readonly bytes: number
  /** Tables whose content was not verified, since it lies out of reach or is another engine's. */
  readonly elsewhere: number
}

export interface VerifyOptions {
  /** Verifies records, manifests and sizes of objects, and does not read the rows. */
  readonly quick?: boolean | undefined
  /** Verifies the file of the store, too. Default: true. */
  readonly store?: boolean | undefined
  /** Formats of other engines whose files are verified, too, such as `icebergFormats` of `tabularium/iceberg`. */
  readonly formats?: readonly TableFormat[] | undefined
  readonly signal?: AbortSignal | undefined
  /** Called with the progress from time to time. */
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
  /** Called with each finding right away. */
  readonly onFinding?: ((finding: Finding) => void) | undefined
}

export interface VerifyProgress {
  readonly step: 'store' | 'records' | 'content' | 'leftovers'
  readonly records: number
  readonly objects: number
  readonly bytes: number
}

const maxFindings = 1_000

/** Collects the findings and counts of a verification. */
export class Findings {
  readonly counts = { records: 0, tables: 0, versions: 0, objects: 0, bytes: 0, elsewhere: 0 }
  complete = true
  readonly #findings: Finding[] = []
  readonly #options: VerifyOptions
  #problems = 0
  #harmless = 0

  constructor(options: VerifyOptions) {
    this.#options = options
  }

  add(finding: Finding): void {
    if (finding.severity === 'problem') this.#problems++
    else this.#harmless++
    if (this.#findings.length < maxFindings) this.#findings.push(finding)
    this.#options.onFinding?.(finding)
  }

  progress(step: VerifyProgress['step']): void {
    this.#options.signal?.throwIfAborted()
    const { records, objects, bytes } = this.counts
    this.#options.onProgress?.({ step, records, objects, bytes })
  }

  report(): VerifyReport {
    return {
      ok: this.#problems === 0,
      complete: this.complete,
      problems: this.#problems,
      harmless: this.#harmless,
      findings: this.#findings,
      ...this.counts,
    }
  }
}
