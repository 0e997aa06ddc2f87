import { wallClock } from '../base/time.ts'
import type { OperationOptions } from '../tabularium/index.ts'
import type { Io, Output } from './io.ts'

/** Work shorter than this shows no progress, in milliseconds. */
const showAfter = 500
const showEvery = 100

interface ProgressLine {
  /** Redraws the line, at most every `showEvery` milliseconds. */
  show(text: () => string): void
  clear(): void
}

/** The width of a terminal that does not tell its own. */
const usualColumns = 80

/** How many columns of a terminal a line may have, so that it is one line there. */
function columnsOf({ columns }: Output): number {
  return (columns || usualColumns) - 1
}

/** A progress line on the error stream, on a terminal only. */
function progressLine(out: Output): ProgressLine {
  const started = wallClock()
  let last = 0
  let isShown = false
  return {
    show: (text) => {
      const now = wallClock()
      if (!out.isTTY || now - started < showAfter || now - last < showEvery) return
      last = now
      isShown = true
      // A longer one would wrap, and stay.
      out.write(`\r${text().slice(0, columnsOf(out))}\u001b[K`)
    },
    clear: () => {
      if (isShown) out.write('\r\u001b[K')
      isShown = false
    },
  }
}

/** Runs work that may show a progress line, and clears the line at the end. The work clears it before it prints. */
export async function withProgress<T>(
  { stderr }: Io,
  work: (show: ProgressLine['show'], clear: ProgressLine['clear']) => Promise<T>,
): Promise<T> {
  const line = progressLine(stderr)
  try {
    return await work(line.show, line.clear)
  } finally {
    line.clear()
  }
}

/** Runs work. Where an interrupt ends it after a part of it was done, says what becomes of that part. */
export async function tellingRest<T>(io: Io, work: Promise<T>, rest: () => string | undefined): Promise<T> {
  try {
    return await work
  } catch (error) {
    const text = io.signal.aborted ? rest() : undefined
    if (text !== undefined) io.stderr.write(`${text}\n`)
    throw error
  }
}

interface ProgressBar {
  readonly onProgress: OperationOptions['onProgress']
  clear(): void
  /** The same output, which clears the bar before each piece: on a terminal, both are one screen. */
  before(output: Output): Output
}

/** A progress bar for an operation. Only a terminal gets a listener: with one, operations wait for their records. */
export function progressBar(out: Output): ProgressBar {
  const { show, clear } = progressLine(out)
  if (!out.isTTY) return { onProgress: undefined, clear, before: (output) => output }
  const write = (output: Output) => (chunk: string | Uint8Array) => {
    clear()
    return output.write(chunk)
  }
  return {
    onProgress: ({ rows, total }) => show(() => barText(rows, total, columnsOf(out))),
    clear,
    before: (output) => (output.isTTY ? { isTTY: true, write: write(output) } : output),
  }
}

const maxWidth = 30
const minWidth = 5

/** A bar with the fraction of rows done, followed by the numbers. The bar is shorter where there are few columns. */
export function barText(rows: number, total: number, columns: number): string {
  // How many rows a stream has is known at its end.
  if (total === 0) return counted(rows, 'row')
  const part = Math.min(1, rows / total)
  const numbers = `${Math.floor(part * 100)}%  ${rows.toLocaleString('en')} of ${counted(total, 'row')}`
  const width = Math.min(maxWidth, columns - numbers.length - 1)
  if (width < minWidth) return numbers
  const done = Math.round(part * width)
  return `${'█'.repeat(done)}${'░'.repeat(width - done)} ${numbers}`
}

/** A number and what it counts, such as `1 table` or `2 tables`. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`
}

/** The progress text of commands that copy files. */
export function copiedText({ objects, bytes }: { objects: number; bytes: number }): string {
  return `${counted(objects, 'file')}, ${(bytes / 1e6).toFixed(1)} MB`
}
