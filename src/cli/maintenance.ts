import { Command } from 'commander'
import type { Io, Output } from './io.ts'
import { jsonPrinter, type Printer, tablePrinter } from './print.ts'

/** A command about the catalog itself, with what all of them have. */
export function upkeepCommand(name: string, summary: string, description: string, examples: string): Command {
  const command = new Command(name)
    .summary(summary)
    .description(`${summary} ${description}`)
    .helpGroup('The catalog itself:')
    .option('--json', 'print lines of JSON (default when the output is no terminal)')
    .option('--no-json', 'print tables')
    .addHelpText('after', `\nExamples:\n${examples}`)
  command.setOptionValueWithSource('json', undefined, 'default')
  return command
}

export function printerOf({ stdout }: Io, json: boolean | undefined): Printer {
  return (json ?? !stdout.isTTY) ? jsonPrinter(stdout) : tablePrinter(stdout)
}

const delay = 500

/** A line on the error stream that says how far long work is; nothing at all when nobody watches. */
function progressLine(out: Output): { show: (text: () => string) => void; clear: () => void } {
  const started = Date.now()
  let last = 0
  return {
    show: (text) => {
      const now = Date.now()
      if (!out.isTTY || now - started < delay || now - last < 100) return
      last = now
      out.write(`\r${text()}\u001b[K`)
    },
    clear: () => {
      if (last > 0) out.write('\r\u001b[K')
    },
  }
}

/** Runs work with such a line, and takes it away in the end. */
export async function withProgress<T>(
  { stderr }: Io,
  work: (show: (text: () => string) => void) => Promise<T>,
): Promise<T> {
  const line = progressLine(stderr)
  try {
    return await work(line.show)
  } finally {
    line.clear()
  }
}

/** How far copying is. */
export function copiedText({ objects, bytes }: { objects: number; bytes: number }): string {
  return `${objects.toLocaleString('en')} files, ${(bytes / 1e6).toFixed(1)} MB`
}
