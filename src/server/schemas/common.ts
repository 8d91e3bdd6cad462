import { z } from 'zod';

/** The schemas that the description of the API knows by name. */
export const schemaRegistry = z.registry<{ id: string }>();

type DeepReadonly<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;
/** Resolves to the schema only where what it describes and the type that is sent are the same. */
type ExactSchema<T, S extends z.ZodType> = [DeepReadonly<T>] extends [DeepReadonly<z.output<S>>]
  ? [DeepReadonly<z.output<S>>] extends [DeepReadonly<T>]
    ? S
    : { 'the schema allows what the type does not': z.output<S> }
  : { 'the type sends what the schema does not allow': z.output<S> };

/** `describe<Type>()('Name', schema)`: does not compile unless the schema says exactly what the type does. */
export const registerSchema =
  <T>() =>
  <S extends z.ZodType>(id: string, schema: S & ExactSchema<T, S>): S => {
    schemaRegistry.add(schema, { id });
    return schema;
  };

export const time = z.string().describe('ISO-8601 UTC with milliseconds');
export const count = z.number().int().min(0);
export const jsonRecord = z.record(z.string(), z.unknown());
