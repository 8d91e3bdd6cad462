import type { Locate, Place } from '../yaml/place.js';
import type { PlanInput } from './change.js';

/** Where the headings of a plan and its tasks are written, as data that can be sent to another thread. */
export interface PlanPlaces {
  readonly [track: string]: {
    readonly heading: Place;
    /** Line and column of each task's subtasks, or of the task where it has none, one task after another. */
    readonly tasks: readonly number[];
  };
}

/** Null: the plan was not read from a text that has lines. */
export function placesOf({ tracks }: PlanInput, locate: Locate): PlanPlaces | null {
  const places: Record<string, PlanPlaces[string]> = {};
  for (const [track, inputs] of Object.entries(tracks)) {
    const heading = locate(['tracks', track]);
    if (heading === null) return null;
    const tasks = inputs.flatMap((_, at) => {
      const place = locate(['tracks', track, at, 'subtasks']);
      return place === null ? [] : [place.line, place.column];
    });
    places[track] = { heading, tasks };
  }
  return places;
}

/** Finds a place again from that data; as near to the path as the data goes. */
export const locateIn =
  (places: PlanPlaces | null): Locate =>
  ([, track, at]) => {
    const found = places?.[String(track)];
    if (found === undefined) return null;
    const line = typeof at === 'number' ? found.tasks[at * 2] : undefined;
    const column = typeof at === 'number' ? found.tasks[at * 2 + 1] : undefined;
    return line === undefined || column === undefined ? found.heading : { line, column };
  };
