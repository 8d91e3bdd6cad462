import { StoreRefused } from './store.js';

/** Drivers are optional peers: one that is not installed is a sentence, not a stack. */
export async function loadDriver<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StoreRefused(`The driver ${name} is not installed. Run: npm install ${name}`);
  }
}
