import { z } from 'zod';
import { pathFault } from '../../core/methodology/definition/asset-path.js';
import { MANIFEST_FILES_MAX, pathCollision } from '../../core/methodology/definition/manifest.js';
import { readStrictJson } from '../../core/strict-json.js';

const LONE_SURROGATE = /\p{Cs}/u;

const writtenFile = z.strictObject({
  path: z.string().superRefine((path, context) => {
    const message = pathFault(path);
    if (message !== null) context.addIssue({ code: 'custom', message });
  }),
  content: z.string().refine((text) => !LONE_SURROGATE.test(text), 'content must be valid Unicode'),
});

/** New content of files. Files that are not named stay unchanged; a result cannot delete a file. */
export const writtenFiles = z
  .array(writtenFile)
  .max(MANIFEST_FILES_MAX)
  .superRefine((files, context) => {
    const message = pathCollision(files.map(({ path }) => path));
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
export type ConstructedFile = z.output<typeof writtenFile>;

const candidateAnswer = z.strictObject({ files: writtenFiles, says: z.string() });

/** Parses a model's answer, which must be exactly the JSON that the prompt requests. Otherwise returns the fault. */
export function readCandidateAnswer(
  text: string,
): { readonly answer: z.output<typeof candidateAnswer> } | { readonly fault: string } {
  const json = readStrictJson(text.trim());
  if ('fault' in json) return json;
  const parsed = candidateAnswer.safeParse(json.value);
  return parsed.success ? { answer: parsed.data } : { fault: faultOf(parsed.error) };
}

/** The first fault, with its place. */
export function faultOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue?.path.join('.') ?? '';
  return `${place === '' ? '' : `${place}: `}${issue?.message ?? 'not of the requested form'}`;
}
