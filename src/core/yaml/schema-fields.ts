import type { z } from 'zod';
import type { DocumentPath } from './source-position.js';

type AnySchema = z.core.$ZodType;

/** The names of the fields that a schema allows in the object at the path; empty if the path leads to no object. */
export function fieldNamesAt(schema: AnySchema, path: DocumentPath, value: unknown): string[] {
  let [schemas, current] = [[schema], value];
  for (const step of path) {
    schemas = schemas
      .flatMap((each) => schemaBranches(each, current))
      .flatMap((each) => childSchemas(each, step));
    current = (current as Record<string | number, unknown> | undefined)?.[step];
  }
  const shapes = schemas.flatMap((each) => schemaBranches(each, current)).map(shapeOf);
  return [...new Set(shapes.flatMap((shape) => Object.keys(shape)))];
}

/** The schema without its wrappers; of a union, the members that the value can belong to. */
function schemaBranches(schema: AnySchema, value: unknown): AnySchema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if ('innerType' in def) return schemaBranches(def.innerType, value);
  if (def.type === 'pipe') return schemaBranches(def.in, value);
  if (def.type !== 'union') return [schema];
  const members = def.options.flatMap((option) => schemaBranches(option, value));
  const matching = members.filter((member) => hasLiteralsOf(member, value));
  return matching.length === 0 ? members : matching;
}

/** Whether the value has the literals that the schema requires, such as `type: command`. */
const hasLiteralsOf = (schema: AnySchema, value: unknown): boolean =>
  Object.entries(shapeOf(schema)).every(([name, field]) => {
    const { def } = (field as z.core.$ZodTypes)._zod;
    if (def.type !== 'literal') return true;
    return (def.values as unknown[]).includes((value as Record<string, unknown> | null)?.[name]);
  });

function childSchemas(schema: AnySchema, step: string | number): AnySchema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'array') return [def.element];
  if (def.type === 'record') return [def.valueType];
  const shape = shapeOf(schema);
  return Object.hasOwn(shape, step) ? [shape[step] as AnySchema] : [];
}

function shapeOf(schema: AnySchema): Readonly<Record<string | number, AnySchema>> {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'object' ? def.shape : {};
}
