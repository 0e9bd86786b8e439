import type { RequestHandler } from 'express';
import helmet from 'helmet';

const none = ["'none'"];
const self = ["'self'"];

const setHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: none,
      scriptSrc: self,
      styleSrc: self,
      imgSrc: self,
      connectSrc: self,
      formAction: self,
      frameAncestors: none,
      baseUri: none,
    },
  },
  // HSTS is left to the proxy in front: it concerns the whole host.
  strictTransportSecurity: false,
  // Other sites get nothing; our own forms need the origin.
  referrerPolicy: { policy: 'same-origin' },
});

/** For every page: own files only, no inline scripts or styles, no caching. */
export const pageHeaders: RequestHandler = (req, res, next) => {
  res.setHeader('Cache-Control', 'no-store');
  setHeaders(req, res, next);
};
