import { z } from 'zod';
import { readStrictJson } from '../../core/strict-json.js';
import { faultOf } from '../constructors/candidate-answer.js';

const score = z.number().min(0).max(1);
const issue = z.strictObject({ criterion: z.string().max(1000), score, says: z.string().max(2000) });
export const verdict = z.strictObject({
  name: z.string().min(1).max(256),
  result: z.enum(['pass', 'fail']),
  score,
  issues: z.array(issue).max(100),
});
type ModelVerdict = z.output<typeof verdict>;

const answerSchema = z.strictObject({ verdicts: z.array(verdict).max(1000) });

export type ParsedVerdicts =
  | { readonly verdicts: ReadonlyMap<string, ModelVerdict> }
  | { readonly fault: string };

/**
 * Parses an evaluator's answer, which must have one verdict for each check, in exactly the JSON that the prompt requests.
 * Otherwise returns the fault.
 */
export function readVerdicts(text: string, checkNames: readonly string[]): ParsedVerdicts {
  const json = readStrictJson(text.trim());
  if ('fault' in json) return json;
  const parsed = answerSchema.safeParse(json.value);
  if (!parsed.success) return { fault: faultOf(parsed.error) };
  const verdicts = new Map<string, ModelVerdict>();
  for (const entry of parsed.data.verdicts) {
    if (!checkNames.includes(entry.name))
      return { fault: `a verdict about ${quotedName(entry.name)}, which was not requested` };
    if (verdicts.has(entry.name)) return { fault: `two verdicts about ${quotedName(entry.name)}` };
    verdicts.set(entry.name, entry);
  }
  const missing = checkNames.find((name) => !verdicts.has(name));
  return missing === undefined ? { verdicts } : { fault: `no verdict about ${quotedName(missing)}` };
}

const quotedName = (name: string): string => JSON.stringify(name.slice(0, 100));
