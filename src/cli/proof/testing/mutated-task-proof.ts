import type { TaskProof } from '../../../core/audit/task-proof/task-proof.js';

type Random = () => number;
type Container = Record<string, unknown>;

const pick = <Item>(items: readonly Item[], random: Random): Item =>
  items[Math.floor(random() * items.length)] as Item;
const indexIn = (items: readonly unknown[], random: Random): number => Math.floor(random() * items.length);

/** Changes, or removes, a value at any depth. */
function changeAnywhere(container: Container, random: Random): void {
  const name = pick(Object.keys(container), random);
  const value = container[name];
  const isContainer = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (isContainer && random() < 0.9) changeAnywhere(value as Container, random);
  else if (random() < 0.2 && !Array.isArray(container)) delete container[name];
  else container[name] = changedValue(value, random);
}

function changedValue(value: unknown, random: Random): unknown {
  if (typeof value === 'number') return value + pick([1, -1, 7], random);
  if (typeof value !== 'string') return pick([null, 'x', 0], random);
  const at = Math.floor(random() * value.length);
  const changed = `${value.slice(0, at)}${pick(['0', 'a', 'B', ''], random)}${value.slice(at + 1)}`;
  return changed === value ? `${value}A` : changed;
}

const sortedEvents = (events: TaskProof['events']): TaskProof['events'] =>
  events.toSorted((one, other) => one.proof.index - other.proof.index);

/** A proof with one mutation. `mutantNumber` selects the kind of mutation; `other` is a proof of another task. */
export function mutatedTaskProof(
  original: TaskProof,
  other: TaskProof,
  mutantNumber: number,
  random: Random,
): TaskProof {
  const proof = structuredClone(original);
  const { events, summary, signatures } = proof;
  const event = indexIn(events, random);
  const line = indexIn(summary, random);
  const foreign = structuredClone(pick(other.events, random));
  const mutations: (() => void)[] = [
    () => changeAnywhere(proof, random),
    () => changeAnywhere(proof.events[event] as unknown as Container, random),
    () => Object.assign(proof, { events: sortedEvents(events.with(event, foreign)) }),
    () => Object.assign(proof, { events: sortedEvents([...events, foreign]) }),
    () => Object.assign(proof, { events: events.toSpliced(event, 1) }),
    () => Object.assign(proof, { summary: summary.toSpliced(line, 1) }),
    () => Object.assign(proof, { summary: summary.with(line, String(changedValue(summary[line], random))) }),
    () => Object.assign(proof, { summary: other.summary }),
    () => Object.assign(proof, { task_id: other.task_id }),
    () => delete events[event]?.proof.payload,
    () =>
      Object.assign(proof, { signatures: signatures.length > 0 ? signatures.slice(1) : other.signatures }),
    () =>
      Object.assign(proof, {
        signatures: signatures.map((each) => ({ ...each, position: each.position + 1 })),
      }),
  ];
  mutations[mutantNumber % mutations.length]?.();
  // A mutation may change nothing, such as the exchange of an event that both proofs have: then the summary is changed.
  if (JSON.stringify(proof) === JSON.stringify(original))
    proof.summary = [...summary, 'Signed by everybody.'];
  return proof;
}
