/** A test that did not pass, with the text that JUnit wrote about it. */
export interface KitCase {
  readonly name: string
  readonly message: string
  /** The line of the test's source that asked, such as `CatalogTests.java:3240`. */
  readonly line: string | undefined
}

export interface KitResult {
  /** How many tests there are, failed and left out ones included. */
  readonly tests: number
  /** The names of those that passed. */
  readonly passed: readonly string[]
  readonly failed: readonly KitCase[]
  /** Those that an assumption of their own or an annotation left out. */
  readonly aborted: readonly KitCase[]
}

/** Reads the report in XML that JUnit's console launcher writes. */
export function readReport(xml: string): KitResult {
  const result = { tests: 0, passed: [] as string[], failed: [] as KitCase[], aborted: [] as KitCase[] }
  const cases = xml.matchAll(/<testcase name="([^"]*)"(?:\s[\w-]+="[^"]*")*\s*(?:\/>|>(.*?)<\/testcase>)/gs)
  for (const [, name, body = ''] of cases) {
    result.tests += 1
    const test = decoded(name!).replace(/\(\)$/, '')
    const [, kind, text] =
      /<(failure|error|skipped)(?:\s[\w-]+="[^"]*")*\s*(?:\/>|>(.*?)<\/\1>)/s.exec(body) ?? []
    if (kind === undefined) result.passed.push(test)
    else result[kind === 'skipped' ? 'aborted' : 'failed'].push(caseOf(test, text ?? ''))
  }
  const [, told] = /<testsuite [^>]*?\btests="(\d+)"/.exec(xml) ?? []
  if (Number(told) !== result.tests)
    throw new Error(`The report tells of ${told} tests, and has ${result.tests}`)
  return result
}

function caseOf(name: string, text: string): KitCase {
  const trace = decoded(text.replace(/<!\[CDATA\[(.*?)\]\]>/gs, (_, inner: string) => encoded(inner)))
  const [message = ''] = trace.split(/\n\s+at /)
  return { name, message: message.trim(), line: /\((\w*CatalogTests\.java:\d+)\)/.exec(trace)?.[1] }
}

const named: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

function encoded(text: string): string {
  return text.replaceAll('&', '&amp;')
}

function decoded(text: string): string {
  return text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex, digits, name) => {
    if (name !== undefined) return named[name] ?? whole
    return String.fromCodePoint(hex === undefined ? Number(digits) : Number.parseInt(hex, 16))
  })
}
