/** A column or nested field, in the protocol's JSON form of Arrow schemas. */
export interface JsonField {
  readonly name: string
  readonly nullable: boolean
  readonly type: JsonType
}

export interface JsonType {
  readonly type: string
  readonly length?: number
  readonly fields?: readonly JsonField[]
}

export interface JsonSchema {
  readonly fields: readonly JsonField[]
}

/** A JSON number with a fraction or an exponent, as it was written. */
export class Fraction {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value as text for error messages, at most 60 characters. */
export function described(value: unknown): string {
  if (value instanceof Fraction) return value.text
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = typeof value === 'string' ? value : String(value)
  return text === '' ? 'an empty text' : text.length > 60 ? `${text.slice(0, 60)}…` : text
}
