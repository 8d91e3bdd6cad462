import type { ImportFormat } from './import-plan.js';

export const PLAN_FORMATS = ['plan', 'markdown', 'issues'] as const;
export type PlanFormat = 'plan' | ImportFormat;

/** The format of a file by its name or, if the name does not determine the format, by its content. */
export function detectPlanFormat(fileName: string, text: string): PlanFormat {
  if (/\.(md|markdown)$/i.test(fileName)) return 'markdown';
  if (/\.ya?ml$/i.test(fileName)) return 'plan';
  if (/^\s*\[/.test(text) && !/^\s*\[[ xX]\]/.test(text)) return 'issues';
  if (/^\s*\{\s*"issues"\s*:/.test(text)) return 'issues';
  if (/^\s*\{/.test(text) || /^tracks:/m.test(text)) return 'plan';
  return /^ *(?:[-*+]|\d{1,9}[.)]) +\[[ xX]\] /m.test(text) ? 'markdown' : 'plan';
}
