import type { Identifier } from '../../model/identifier.ts'

/** One thing that a verification found. */
export interface Finding {
  /** A problem loses, hides or forbids to read something; what is harmless goes away by itself or by a vacuum. */
  readonly severity: 'problem' | 'harmless'
  /**
   * `store`: the file of the records is damaged. `record`: a record makes no sense, or does not fit the others.
   * `content`: an object of a table is missing, cut off or damaged. `leftover`: something nobody needs.
   */
  readonly kind: 'store' | 'record' | 'content' | 'leftover'
  /** The file, the key of the record, or the path of the object. */
  readonly where: string
  /** The table or namespace it belongs to, where that can be told. */
  readonly id?: Identifier
  /** What is wrong, and what to do. */
  readonly message: string
}

export interface VerifyReport {
  /** Whether no problem was found. */
  readonly ok: boolean
  /** Whether all was looked at. When the store itself is damaged, what hangs on it is not. */
  readonly complete: boolean
  readonly problems: number
  readonly harmless: number
  /** What was found, the first 1,000. */
  readonly findings: readonly Finding[]
  readonly records: number
  readonly tables: number
  readonly versions: number
  /** Objects of tables, and how many of their bytes were read. */
  readonly objects: number
  readonly bytes: number
  /** Tables whose content lies out of reach or is another engine's: theirs was not looked at. */
  readonly elsewhere: number
}

export interface VerifyOptions {
  /** Looks at records, manifests, and sizes of objects, and does not read the rows. */
  readonly quick?: boolean | undefined
  /** Looks at the file of the store, too. True unless given. */
  readonly store?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** Told now and then how far it is. */
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
  /** Told of everything that is found at once. */
  readonly onFinding?: ((finding: Finding) => void) | undefined
}

export interface VerifyProgress {
  readonly step: 'store' | 'records' | 'content' | 'leftovers'
  readonly records: number
  readonly objects: number
  readonly bytes: number
}

const most = 1_000

/** Gathers what a verification finds and counts. */
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
    if (this.#findings.length < most) this.#findings.push(finding)
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
