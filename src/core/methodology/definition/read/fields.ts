import { z } from 'zod';
import { CHECK_TYPES, type CheckDefinition, EXPIRY_ACTIONS } from '../methodology.js';
import { isVariable } from '../variables.js';

/** Field types of workspace files. Unknown fields are allowed; known fields have the right type or are empty. */
export const shortText = z.string().min(1).max(256);
export const longText = z.string().max(16 * 1024);
export const booleanField = z.boolean();
export const shortTexts = z.array(shortText).max(1000);
export const checkTypes = z.array(z.enum(CHECK_TYPES)).max(10);
export const iterationCount = z.int().min(1).max(1000);
export const openRecord = z.record(z.string().max(256), z.unknown());

const required = z.union([
  z.boolean(),
  z
    .string()
    .refine(isVariable, { error: 'expected true, false or a variable as $tools.type_checker.required' }),
]);

export const checkSchema = z.object({
  name: shortText,
  type: z.enum(CHECK_TYPES),
  criterion: longText.nullish(),
  required: required.nullish(),
  source: shortText.nullish(),
  command: longText.nullish(),
  pass_criterion: longText.nullish(),
});
export const checksSchema = z.array(checkSchema).max(500);

export function parseCheck(parsed: z.infer<typeof checkSchema>, source = 'default'): CheckDefinition {
  const check: CheckDefinition = {
    name: parsed.name,
    type: parsed.type,
    criterion: parsed.criterion ?? parsed.name,
    required: parsed.required ?? true,
    source: parsed.source ?? source,
  };
  const command = parsed.command?.trim() ? { command: parsed.command } : {};
  const pass = parsed.pass_criterion?.trim() ? { pass_criterion: parsed.pass_criterion } : {};
  return { ...check, ...command, ...pass };
}

export const timeBoxSchema = z.object({
  enabled: booleanField.nullish(),
  duration: longText.nullish(),
  started: longText.nullish(),
  check_in: longText.nullish(),
  on_expiry: z.enum(EXPIRY_ACTIONS).nullish(),
});

/** The trimmed text; null if it is empty or a `{placeholder}`. */
export function textOrNull(text: string | null | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' || /^\{[^{}]*\}$/.test(trimmed) ? null : trimmed;
}
