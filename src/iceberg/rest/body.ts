import * as v from 'valibot'
import { illegalArgument } from '../errors.ts'

/** The levels of a namespace. */
export const namespaceName = v.pipe(v.array(v.string()), v.minLength(1, 'must name at least one level'))

/** A table or view by its namespace and name. */
export const identifier = v.object({ namespace: v.array(v.string()), name: v.pipe(v.string(), v.nonEmpty()) })

/** A body in the shape of its endpoint. Fields that the endpoint does not know are left out, as the protocol asks. */
export function checkBody<Schema extends v.GenericSchema>(
  schema: Schema,
  body: unknown,
): v.InferOutput<Schema> {
  // To valibot, a list is an object without members.
  if (Array.isArray(body)) throw illegalArgument('Invalid request body: must be an object, and is a list')
  const checked = v.safeParse(schema, body, { abortEarly: true })
  if (checked.success) return checked.output
  const [issue] = checked.issues
  const path = v.getDotPath(issue)
  throw illegalArgument(
    path === null
      ? `Invalid request body: ${issue.message}`
      : `Invalid request body: ${path}: ${issue.message}`,
  )
}
