import { z } from 'zod';
import { costSchema, NO_COST } from '../../core/engine/check-outcome.js';
import { engineError } from '../engine-error.js';
import { writtenFiles } from './candidate-answer.js';
import type { Constructor } from './constructor.js';
import { endOfMessage } from './end-of-message.js';
import { entryOf, readTranscript } from './transcript.js';
import { writeFiles } from './write-files.js';

const constructedEntry = z.strictObject({
  files: writtenFiles,
  says: z.string(),
  cost: costSchema.exactOptional(),
  session: z.string().min(1).max(256).exactOptional(),
});

/** Writes the files that a transcript records for each iteration. */
export async function replayConstructor(projectFolder: string, file: string): Promise<Constructor> {
  const transcript = await readTranscript(projectFolder, file, constructedEntry);
  return async ({ folder, iteration }) => {
    const { files, says, cost = NO_COST, session } = entryOf(transcript, iteration);
    const obstacle = await writeFiles(folder, files);
    if (obstacle !== null) {
      throw engineError('failed', `A file of the transcript cannot be written: ${obstacle}`);
    }
    return { says: endOfMessage(says), constructed_by: session ?? `replay:construct:${iteration}`, cost };
  };
}
