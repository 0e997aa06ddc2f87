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

/** A progress line on the error stream, on a terminal only. */
function progressLine(out: Output): ProgressLine {
  const started = wallClock()
  let last = 0
  return {
    show: (text) => {
      const now = wallClock()
      if (!out.isTTY || now - started < showAfter || now - last < showEvery) return
      last = now
      out.write(`\r${text()}\u001b[K`)
    },
    clear: () => {
      if (last > 0) out.write('\r\u001b[K')
    },
  }
}

/** Runs work that may show a progress line, and clears the line at the end. */
export async function withProgress<T>(
  { stderr }: Io,
  work: (show: ProgressLine['show']) => Promise<T>,
): Promise<T> {
  const line = progressLine(stderr)
  try {
    return await work(line.show)
  } finally {
    line.clear()
  }
}

/** A progress bar for an operation. Only a terminal gets a listener: with one, operations wait for their records. */
export function progressBar(out: Output): { onProgress: OperationOptions['onProgress']; clear(): void } {
  const line = progressLine(out)
  if (!out.isTTY) return { onProgress: undefined, clear: line.clear }
  return { onProgress: ({ rows, total }) => line.show(() => barText(rows, total)), clear: line.clear }
}

const width = 30

/** A bar with the fraction of rows done, followed by the numbers. */
export function barText(rows: number, total: number): string {
  // How many rows a stream has is known at its end.
  if (total === 0 && rows > 0) return `${rows.toLocaleString('en')} rows`
  const part = total > 0 ? Math.min(1, rows / total) : 1
  const done = Math.round(part * width)
  return `${'█'.repeat(done)}${'░'.repeat(width - done)} ${Math.floor(part * 100)}%  ${rows.toLocaleString('en')} of ${total.toLocaleString('en')} rows`
}

/** The progress text of commands that copy files. */
export function copiedText({ objects, bytes }: { objects: number; bytes: number }): string {
  return `${objects.toLocaleString('en')} files, ${(bytes / 1e6).toFixed(1)} MB`
}
