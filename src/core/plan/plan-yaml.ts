import { readYamlText } from '../yaml/read-yaml.js';
import { PlanFaultList } from './plan-faults.js';

/** In characters, which are never more than the bytes. */
export const PLAN_TEXT_LENGTH_MAX = 5 * 1024 * 1024;

export interface ParsedPlanText {
  /** Undefined if the text is not YAML. */
  readonly value: unknown;
  readonly faults: PlanFaultList;
}

export function readPlanYaml(text: string): ParsedPlanText {
  if (text.length > PLAN_TEXT_LENGTH_MAX) {
    const faults = new PlanFaultList();
    const tooLongMessage = `The plan has ${text.length} characters; at most ${PLAN_TEXT_LENGTH_MAX} are read. Send it as JSON, or add tasks in parts.`;
    faults.add('BAD_YAML', [], tooLongMessage);
    return { value: undefined, faults };
  }
  const { value, problems, locate } = readYamlText(text, 'one');
  const faults = new PlanFaultList(locate);
  for (const { path, message, source_position: sourcePosition } of problems)
    faults.add('BAD_YAML', path, message, sourcePosition);
  return { value, faults };
}
