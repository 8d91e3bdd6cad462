import { z } from 'zod';
import { CHECK_TYPES, type Check, ON_EXPIRY } from '../methodology.js';
import { isVariable } from '../variables.js';

/** Fields of files are open: what we do not know is nobody's fault. What we know has its type, or may be left empty. */
export const label = z.string().min(1).max(256);
export const words = z.string().max(16 * 1024);
export const flag = z.boolean();
export const labels = z.array(label).max(1000);
export const checkTypes = z.array(z.enum(CHECK_TYPES)).max(10);
export const budget = z.int().min(1).max(1000);
export const openRecord = z.record(z.string().max(256), z.unknown());

const required = z.union([
  z.boolean(),
  z
    .string()
    .refine(isVariable, { error: 'expected true, false or a variable as $tools.type_checker.required' }),
]);

export const checkSchema = z.object({
  name: label,
  type: z.enum(CHECK_TYPES),
  criterion: words.nullish(),
  required: required.nullish(),
  source: label.nullish(),
  command: words.nullish(),
  pass_criterion: words.nullish(),
});
export const checksSchema = z.array(checkSchema).max(500);

export function checkOf(said: z.infer<typeof checkSchema>, source = 'default'): Check {
  const check: Check = {
    name: said.name,
    type: said.type,
    criterion: said.criterion ?? said.name,
    required: said.required ?? true,
    source: said.source ?? source,
  };
  const command = said.command?.trim() ? { command: said.command } : {};
  const pass = said.pass_criterion?.trim() ? { pass_criterion: said.pass_criterion } : {};
  return { ...check, ...command, ...pass };
}

export const timeBoxSchema = z.object({
  enabled: flag.nullish(),
  duration: words.nullish(),
  started: words.nullish(),
  check_in: words.nullish(),
  on_expiry: z.enum(ON_EXPIRY).nullish(),
});

/** A text that somebody filled in: not empty, and not `{something to replace}`. */
export function filled(text: string | null | undefined): string | null {
  const said = text?.trim() ?? '';
  return said === '' || /^\{[^{}]*\}$/.test(said) ? null : said;
}
