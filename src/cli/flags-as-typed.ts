/** What flags are called in code, where it is not the same name. */
const namesInCode: Readonly<Record<string, string>> = {
  '-n': 'limit',
  '--algorithms': 'auth.jwt.algorithms',
  '--content-cache': 'contentCache.folder',
  '--content-cache-size': 'contentCache.bytes',
  '--lance-memory': 'lance: memoryBytes',
  '--lance-time': 'lance: callMillis',
  '--no-auth': 'auth: false',
  '--rows': 'limit',
  '--set': 'updates',
  '--stale': 'staleMillis',
  '--transaction-idle': 'openTransactions: idleSeconds',
}

const token = /^auth\.tokens\[\d+\]/

/** Begins a message about the value of an option with its flag, in place of the name that the option has in code. */
export function flagsAsTyped(message: string, args: readonly string[]): string {
  const flags = args.flatMap((word) => /^(?:--[a-z][a-z-]*|-n)(?==|$)/.exec(word) ?? [])
  if (token.test(message))
    return message.replace(token, flags.includes('--token') ? '--token' : 'TABULARIUM_TOKEN')
  const [, told = ''] = /^(?:The option |\w+: )?(.*)/s.exec(message) ?? []
  for (const flag of flags) {
    const words = flag.slice(2)
    const camel = words.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase())
    for (const name of [namesInCode[flag] ?? camel, words.replaceAll('-', '_')])
      for (const text of [message, told])
        if (text.startsWith(name) && /^[ [.]/.test(text.slice(name.length)))
          return `${flag}${text.slice(name.length)}`
  }
  return message
}
