import type { ConstructSettings } from '../../core/methodology/definition/engine-settings.js';
import { openModel } from '../models/ask-model.js';
import { resolveProgram } from '../processes/resolve-program.js';
import { commandConstructor } from './command.js';
import type { Constructor } from './constructor.js';
import { modelConstructor } from './model.js';
import { replayConstructor } from './replay.js';

export interface ProcessContext {
  /** The root of the project: transcripts and programs with a slash are relative to it. */
  readonly folder: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Opens the constructor that is configured. Rejects with an `EngineError` that says what is missing. */
export async function openConstructor(
  settings: ConstructSettings,
  { folder, env = process.env }: ProcessContext,
): Promise<Constructor> {
  switch (settings.type) {
    case 'command':
      return commandConstructor({ ...settings, command: resolveProgram(settings.command, folder) }, env);
    case 'model': {
      const { type: _, timeout_seconds, ...model } = settings;
      return modelConstructor(await openModel(model, env), timeout_seconds);
    }
    case 'replay':
      return replayConstructor(folder, settings.transcript);
  }
}
