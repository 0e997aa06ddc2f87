/** Keys of AWS, signatures of Azure, and tokens of OAuth, which messages of services may contain. */
const credential =
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}|\b(?:sig|Signature|AccountKey)=[^&;\s"]+|\bBearer [\w.~+/-]+|\bya29\.[\w-]+/g

/**
 * A copy of a service's error with its name, its message and some facts. Its requests with their headers, and responses
 * that contain keys and signatures, are left out.
 */
export function bareError(
  {
    name = 'Error',
    message = '',
  }: { readonly name?: string | undefined; readonly message?: string | undefined },
  facts: readonly unknown[],
): Error {
  const known = facts.filter((fact) => fact !== undefined && fact !== '' && fact !== 0)
  const behind = known.length > 0 ? ` (${known.join(', ')})` : ''
  return new Error(`${name}: ${message.replace(credential, '…')}${behind}`)
}
