import { readYamlText } from '../yaml/read-yaml.js';
import { FaultList } from './faults.js';

/** In characters, which are never more than its bytes. */
export const PLAN_TEXT_LENGTH_MAX = 5 * 1024 * 1024;

export interface PlanText {
  /** Undefined where the text is not YAML at all. */
  readonly value: unknown;
  readonly faults: FaultList;
}

export function readYaml(text: string): PlanText {
  if (text.length > PLAN_TEXT_LENGTH_MAX) {
    const faults = new FaultList();
    const said = `The plan has ${text.length} characters; at most ${PLAN_TEXT_LENGTH_MAX} are read. Send it as JSON, or add tasks in parts.`;
    faults.add('BAD_YAML', [], said);
    return { value: undefined, faults };
  }
  const { value, problems, locate } = readYamlText(text, 'one');
  const faults = new FaultList(locate);
  for (const { path, message, place } of problems) faults.add('BAD_YAML', path, message, place);
  return { value, faults };
}
