import { z } from 'zod';

/** The schemas that the description of the API knows by name. */
export const named = z.registry<{ id: string }>();

type Deep<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: Deep<T[Key]> }
    : T;
/** Resolves to the schema only where what it describes and the type that is sent are the same. */
type Describes<T, S extends z.ZodType> = [Deep<T>] extends [Deep<z.output<S>>]
  ? [Deep<z.output<S>>] extends [Deep<T>]
    ? S
    : { 'the schema allows what the type does not': z.output<S> }
  : { 'the type sends what the schema does not allow': z.output<S> };

/** `describe<Type>()('Name', schema)`: does not compile unless the schema says exactly what the type does. */
export const describe =
  <T>() =>
  <S extends z.ZodType>(id: string, schema: S & Describes<T, S>): S => {
    named.add(schema, { id });
    return schema;
  };

export const time = z.string().describe('ISO-8601 UTC with milliseconds');
export const count = z.number().int().min(0);
export const data = z.record(z.string(), z.unknown());
