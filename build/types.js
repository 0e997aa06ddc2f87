import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript-5'

/*
 * Writes the type declarations of the entry points, and of the modules they refer to. Each entry point has a second
 * form for CommonJS: some TypeScript settings refuse to `require` an ES module, although Node can.
 */

/**
 * Writes the declarations into a folder. `values` are the runtime exports of each entry point, by the path of its
 * declarations.
 */
export function writeTypes(outdir, values) {
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', 'build/tsconfig.json', '--outDir', outdir], {
    stdio: 'inherit',
  })
  const needed = mentioned(Object.keys(values).map((path) => resolve(path)))
  for (const file of readdirSync(outdir, { recursive: true })) {
    const path = resolve(outdir, file)
    if (file.endsWith('.d.ts') && !needed.has(path)) rmSync(path)
  }
  removeEmpty(outdir)
  needed.forEach(referToNode)
  referToMembers(join(outdir, 'catalog/operations/index.d.ts'))
  const classes = new Set(Array.from(needed, (file) => classesOf(readFileSync(file, 'utf8'))).flat())
  for (const [path, names] of Object.entries(values)) {
    writeFileSync(path.replace(/\.ts$/, '.cts'), forCommonJs(path, names, classes))
  }
}

/** The declarations that are reachable from some. */
function mentioned(entries) {
  const found = new Set(entries)
  for (const file of found) {
    for (const [, from] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"](\.[^'"]+)['"]/g)) {
      const path = resolve(dirname(file), from.replace(/\.[jt]s$/, '.d.ts'))
      if (existsSync(path)) found.add(path)
    }
  }
  return found
}

/** Adds a reference to Node's types where a declaration uses them: TypeScript 7 does not load them by itself. */
function referToNode(file) {
  const text = readFileSync(file, 'utf8')
  if (/['"]node:|\bBuffer\b|\bNodeJS\./.test(text))
    writeFileSync(file, `/// <reference types="node" />\n${text}`)
}

/**
 * Declares each member of an exported record as the type of what the file imports under its name. The compiler spells all
 * types out a second time, and those of operations are long.
 */
function referToMembers(file) {
  const text = readFileSync(file, 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const imported = new Set()
  const members = []
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) {
      for (const { name } of statement.importClause?.namedBindings?.elements ?? []) imported.add(name.text)
    }
    if (!ts.isVariableStatement(statement)) continue
    for (const { type } of statement.declarationList.declarations) {
      if (type !== undefined && ts.isTypeLiteralNode(type)) members.push(...type.members)
    }
  }
  const shorter = members
    .filter(({ name }) => imported.has(name.text))
    .reduceRight(
      (text, { name, type }) => `${text.slice(0, type.pos)} typeof ${name.text}${text.slice(type.end)}`,
      text,
    )
  writeFileSync(file, shorter)
}

/** The classes that declarations declare. */
export function classesOf(text) {
  const declared = /^export (?:declare )?(?:abstract )?class (\w+)/gm
  return Array.from(text.matchAll(declared), ([, name]) => name)
}

/** Declarations for CommonJS beside those at `path`, by the names that the module exports, and which are classes. */
export function forCommonJs(path, names, classes) {
  const from = `'./${path
    .split('/')
    .at(-1)
    .replace(/\.d\.ts$/, '.js')}'`
  const module = `import(${from}, { with: { 'resolution-mode': 'import' } })`
  return [
    `export type * from ${from} with { 'resolution-mode': 'import' }`,
    ...names.map((name) => `export declare const ${name}: typeof ${module}.${name}`),
    // A class is a type as well.
    ...names.filter((name) => classes.has(name)).map((name) => `export type ${name} = ${module}.${name}`),
    '',
  ].join('\n')
}

function removeEmpty(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeEmpty(join(folder, entry.name))
  }
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}
