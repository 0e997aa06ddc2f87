import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript-5'

/*
 * Removes comments about members from bundles. The bundler removes the others itself. Declarations have them for readers.
 */

/** Removes them from all modules below a folder. */
export function removeComments(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.c?js$/.test(name)) continue
    const file = join(folder, name)
    writeFileSync(file, withoutComments(readFileSync(file, 'utf8')))
  }
}

/** The code without comments of the form of JSDoc that have whole lines, but for licenses. */
export function withoutComments(code) {
  if (!code.includes('/**')) return code
  const cuts = new Map()
  const visit = (node) => {
    for (const { pos, end } of ts.getLeadingCommentRanges(code, node.pos) ?? []) {
      const text = code.slice(pos, end)
      const line = code.lastIndexOf('\n', pos - 1) + 1
      const isAlone = code.slice(line, pos).trim() === '' && code[end] === '\n'
      if (isAlone && text.startsWith('/**') && !/@(license|preserve)/.test(text)) cuts.set(line, end + 1)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('code.js', code, ts.ScriptTarget.Latest))
  let kept = ''
  let at = 0
  for (const [from, to] of [...cuts].sort(([a], [b]) => a - b)) {
    kept += code.slice(at, from)
    at = to
  }
  return kept + code.slice(at)
}
