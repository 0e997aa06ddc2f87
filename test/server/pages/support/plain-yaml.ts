/** What plain YAML holds. */
export type Plain = string | readonly Plain[] | { readonly [name: string]: Plain }

interface Line {
  readonly depth: number
  readonly text: string
}

/**
 * Reads YAML of the plainest kind: mappings, lists, and values on one line, bare or in double quotes. Fails for
 * everything else, so that what it reads means the same to any reader.
 */
export function readPlainYaml(text: string): Plain {
  const lines = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('#'))
    .map((line) => ({ depth: /^ */.exec(line)![0].length, text: line.trim() }))
  const [value, rest] = block(lines, lines[0]!.depth)
  if (rest.length > 0) throw new Error(`unexpected: ${rest[0]!.text}`)
  return value
}

function block(lines: readonly Line[], depth: number): [Plain, readonly Line[]] {
  return lines[0]!.text.startsWith('- ') ? list(lines, depth) : mapping(lines, depth)
}

function list(given: readonly Line[], depth: number): [Plain, readonly Line[]] {
  const items: Plain[] = []
  let lines = given
  while (lines[0]?.depth === depth && lines[0].text.startsWith('- ')) {
    const first = { depth: depth + 2, text: lines[0].text.slice(2) }
    if (!/^[\w-]+:(\s|$)/.test(first.text)) {
      items.push(scalar(first.text))
      lines = lines.slice(1)
    } else {
      const [item, rest] = mapping([first, ...lines.slice(1)], depth + 2)
      items.push(item)
      lines = rest
    }
  }
  return [items, lines]
}

function mapping(given: readonly Line[], depth: number): [Plain, readonly Line[]] {
  const entries: Record<string, Plain> = {}
  let lines = given
  while (lines[0]?.depth === depth && !lines[0].text.startsWith('- ')) {
    const [, name, value] = /^([\w-]+):(?:\s+(.*))?$/.exec(lines[0].text) ?? []
    if (name === undefined || name in entries)
      throw new Error(`no entry, or one that is there: ${lines[0].text}`)
    lines = lines.slice(1)
    if (value !== undefined) entries[name] = scalar(value)
    else [entries[name], lines] = block(lines, lines[0]!.depth)
  }
  if (lines[0] !== undefined && lines[0].depth > depth) throw new Error(`indented too far: ${lines[0].text}`)
  return [entries, lines]
}

function scalar(text: string): string {
  if (text.startsWith('"')) return JSON.parse(text) as string
  // These mean something else than they say, or may.
  if (/^[[\]{}&*!|>'%@`,?-]|: |:$| #/.test(text)) throw new Error(`put this in double quotes: ${text}`)
  return text
}
