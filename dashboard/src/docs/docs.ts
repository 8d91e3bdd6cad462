import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import 'swagger-ui-dist/swagger-ui.css';
import '../styles/base.css';
import './docs.css';
import { readKey } from '../api/key.js';
import { applyTheme, chooseTheme, readTheme, type Theme } from '../components/theme.js';

interface SentRequest {
  url: string;
  headers: Record<string, string>;
}

/** Adds the key of the page to requests to this server, unless a person has entered another key in the reference. */
function withKey(request: SentRequest): SentRequest {
  const key = readKey();
  const isOwn = new URL(request.url, location.href).origin === location.origin;
  if (key !== null && isOwn) request.headers.authorization ??= `Bearer ${key}`;
  return request;
}

function showTheme(theme: Theme): void {
  applyTheme(theme);
  document.documentElement.classList.toggle('dark-mode', theme === 'dark');
  const button = document.getElementById('theme') as HTMLButtonElement;
  const other = theme === 'dark' ? 'light' : 'dark';
  button.textContent = theme === 'dark' ? '☀' : '☾';
  button.ariaLabel = `Use the ${other} theme`;
  button.onclick = () => {
    chooseTheme(other);
    showTheme(other);
  };
}

showTheme(readTheme());
SwaggerUI({
  domNode: document.getElementById('reference'),
  url: '/openapi.json',
  deepLinking: true,
  filter: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  // The colours of the highlighter lack contrast.
  syntaxHighlight: false,
  // The badge would send the description to another host.
  validatorUrl: null,
  requestInterceptor: withKey,
});
