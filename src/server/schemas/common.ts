import { z } from 'zod';

/** Schemas that have a name in the API description. */
export const schemaRegistry = z.registry<{ id: string }>();

type DeepReadonly<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;
/** The schema itself if its output equals the type that is sent, otherwise a type that shows the difference. */
type ExactSchema<T, S extends z.ZodType> = [DeepReadonly<T>] extends [DeepReadonly<z.output<S>>]
  ? [DeepReadonly<z.output<S>>] extends [DeepReadonly<T>]
    ? S
    : { 'the schema allows what the type does not': z.output<S> }
  : { 'the type sends what the schema does not allow': z.output<S> };

/** `registerSchema<Type>()('Name', schema)` compiles only if the schema describes exactly the type. */
export const registerSchema =
  <T>() =>
  <S extends z.ZodType>(id: string, schema: S & ExactSchema<T, S>): S => {
    schemaRegistry.add(schema, { id });
    return schema;
  };

export const time = z.string().describe('ISO-8601 UTC with milliseconds');
export const count = z.number().int().min(0);
export const jsonRecord = z.record(z.string(), z.unknown());
